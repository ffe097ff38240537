# The service alone: static programs, no shell, no root, no PostgreSQL. It needs
# DATABASE_URL, and LOADAWARE_TOKENS because it listens beyond loopback. Its root may be
# read-only: `make check-image` runs it so. The one file that it may write is that of
# LOADAWARE_TOKENS_FILE, which is not set here; /var/lib/loadaware is there to mount a
# volume for it, as docker-compose.yml does. The program that measures others in their
# containers (docs/peak.md) is an image of its own:
#
#   docker build -t loadaware --build-arg VERSION="$(sh scripts/dist/version.sh)" .
#   docker build -t loadaware-peak --target peak .
#
# `make dist` builds the same images without a container engine, with scripts/dist/pack.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY internal/dataframe internal/dataframe
RUN go mod download
COPY . .
ARG VERSION
RUN VERSION=${VERSION:-$(sh scripts/dist/version.sh)} && \
    CGO_ENABLED=0 go build -trimpath $(cat scripts/dist/compact.flags) -ldflags "-s -w -X main.buildVersion=${VERSION}" -o /out/loadaware ./cmd/loadaware && \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.buildVersion=${VERSION}" -o /out/loadaware-peak ./cmd/loadaware-peak && \
    mkdir /out/data

FROM scratch AS peak
COPY --from=build /out/loadaware-peak /usr/local/bin/
USER 65532:65532
ENV PATH=/usr/local/bin
ENTRYPOINT ["/usr/local/bin/loadaware-peak"]

FROM scratch
# The public authorities, for a database that is reached over TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/loadaware /usr/local/bin/
# A new volume takes its owner from here.
COPY --from=build --chown=65532:65532 /out/data /var/lib/loadaware
# By number: Kubernetes cannot tell of a name whether it is root.
USER 65532:65532
ENV PATH=/usr/local/bin LOADAWARE_ADDR=0.0.0.0:8080
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/loadaware"]
CMD ["serve"]
