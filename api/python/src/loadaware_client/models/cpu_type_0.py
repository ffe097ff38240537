from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="CPUType0")


@_attrs_define
class CPUType0:
    """CPU request of the pod; the service never sets a CPU limit.

    Attributes:
        request_cores (float): Cores.
        request (str): A Kubernetes quantity of CPU. Example: 250m.
    """

    request_cores: float
    request: str

    def to_dict(self) -> dict[str, Any]:
        request_cores = self.request_cores

        request = self.request

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "request_cores": request_cores,
                "request": request,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        request_cores = d.pop("request_cores")

        request = d.pop("request")

        cpu_type_0 = cls(
            request_cores=request_cores,
            request=request,
        )

        return cpu_type_0
