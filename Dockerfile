# The image of the service: one static program, which does not run as root. The image has no shell
# and no PostgreSQL. The service needs DATABASE_URL and, because it listens on all addresses, LOADAWARE_TOKENS
# or LOADAWARE_TOKENS_FILE. Its root file system can be read-only: it writes at most the file of tokens.
# The stage peak is the image of loadaware-peak (docs/peak.md). These commands build both images:
#
#   docker build -t loadaware --build-arg VERSION="$(sh scripts/dist/version.sh)" --build-arg REVISION="$(git rev-parse HEAD)" .
#   docker build -t loadaware-peak --target peak .
#
# `make dist` builds the released images without a container engine, with scripts/dist/pack. They have the
# same programs, and also licences and labels.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
# go.mod replaces a module by this folder.
COPY internal/dataframe internal/dataframe
RUN go mod download
COPY . .
# The build has no .git, so it cannot find the commit itself.
ARG VERSION
ARG REVISION
RUN VERSION=${VERSION:-$(sh scripts/dist/version.sh)} && \
    CGO_ENABLED=0 go build -trimpath $(cat scripts/dist/compact.flags) -ldflags "-s -w -funcalign=16 -X main.buildVersion=${VERSION} -X main.buildRevision=${REVISION}" -o /out/ ./cmd/loadaware ./cmd/loadaware-peak && \
    mkdir /out/data

FROM scratch AS peak
COPY --from=build /out/loadaware-peak /usr/local/bin/
USER 65532:65532
ENV PATH=/usr/local/bin
ENTRYPOINT ["/usr/local/bin/loadaware-peak"]

FROM scratch
# The public root certificates, for connections to the database over TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/loadaware /usr/local/bin/
# A new volume gets the owner of this folder.
COPY --from=build --chown=65532:65532 /out/data /var/lib/loadaware
# A number, because Kubernetes cannot check that a named user is not root.
USER 65532:65532
ENV PATH=/usr/local/bin LOADAWARE_ADDR=0.0.0.0:8080
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/loadaware"]
CMD ["serve"]
