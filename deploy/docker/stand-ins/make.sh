#!/usr/bin/env bash
# Builds replacements for the Node, PostgreSQL and Redis images that docker-compose.yml and deploy/docker/Dockerfile use.
# node:24-bookworm-slim is Debian 12 with the given node binary and this machine's npm. The other images add Debian's PostgreSQL or Redis to
# node:24-bookworm-slim. Debian's versions are older than those in the tags: postgres:17-bookworm contains PostgreSQL 15.
# Needs root and debootstrap, but no image registry.
#
#   deploy/docker/stand-ins/make.sh PATH_OF_NODE_24
set -euo pipefail
cd "$(dirname "$0")"
node=$1

if ! docker image inspect node:24-bookworm-slim >/dev/null 2>&1; then
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >/dev/null
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  chroot "$root" groupadd --gid 1000 node
  chroot "$root" useradd --uid 1000 --gid 1000 --create-home node
  cp "$node" "$root/usr/local/bin/node"
  mkdir -p "$root/usr/local/lib/node_modules"
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  cp -r "$npm" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  tar --directory "$root" --create . | docker import --change 'CMD ["node"]' - node:24-bookworm-slim >/dev/null
fi

for image in postgres:17-bookworm redis:8-bookworm; do
  docker image inspect "$image" >/dev/null 2>&1 ||
    docker build --quiet --network host --target "${image%%:*}" --tag "$image" . >/dev/null
done
