# The image lockbench: the program and servers, in which world local runs. `make image` makes
# it, from this machine's own programs and without a registry; see docs/worlds.md.
FROM scratch
ARG TARGETARCH
ADD rootfs-${TARGETARCH}.tar /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp
USER 1000:1000
WORKDIR /
ENTRYPOINT ["/bin/lockbench"]
CMD ["--help"]
