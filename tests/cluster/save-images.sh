#!/usr/bin/env bash
# Builds or pulls the images that the tests run and saves them as one archive: edge, conversation, quota, llm-proxy, cli, PostgreSQL, PgBouncer,
# Redis and Node.js. Needs a Docker daemon.
#
#   tests/cluster/save-images.sh ARCHIVE
set -euo pipefail
archive=$1

public_images=(postgres:17-bookworm redis:8-bookworm node:24-bookworm-slim)
for image in "${public_images[@]}"; do
  docker image inspect "$image" >/dev/null 2>&1 || docker pull --quiet "$image"
done
docker compose build --quiet edge conversation quota llm-proxy cli
# The container runtime starts one container per pod from this image, only to hold the pod's namespaces.
printf 'FROM node:24-bookworm-slim\nUSER 1000:1000\nCMD ["sleep", "infinity"]\n' | docker build --quiet --tag parley/pause -
docker build --quiet --network host --tag parley/pgbouncer - <<'DOCKERFILE'
FROM node:24-bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends pgbouncer && rm -rf /var/lib/apt/lists/*
USER 1000:1000
CMD ["pgbouncer", "/etc/pgbouncer/pgbouncer.ini"]
DOCKERFILE
# docs/install/cluster.md uses these names.
services=()
for target in edge conversation quota llm-proxy cli; do
  services+=("registry.example.com/parley/$target:0.1.0")
  docker tag "parley/$target" "${services[-1]}"
done
docker save --output "$archive.partial" "${services[@]}" parley/pause parley/pgbouncer "${public_images[@]}"
mv "$archive.partial" "$archive"
# Remove the images and layers of earlier builds.
docker image prune --force >/dev/null
docker builder prune --force --keep-storage 3GB >/dev/null
