# An official image of a service with nft, which cuts links between servers.
ARG BASE
FROM ${BASE}
LABEL lockbench.image=registry
RUN command -v nft >/dev/null || { apt-get update && apt-get install -y --no-install-recommends nftables && rm -rf /var/lib/apt/lists/*; }
