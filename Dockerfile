# The service alone: a static program, no shell, no root, no PostgreSQL. It needs
# DATABASE_URL, and LOADAWARE_TOKENS because it listens beyond loopback.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.buildVersion=${VERSION}" -o /loadaware ./cmd/loadaware

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /loadaware /loadaware
ENV LOADAWARE_ADDR=0.0.0.0:8080
EXPOSE 8080
ENTRYPOINT ["/loadaware"]
CMD ["serve"]
