import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, nginxCommand, startProcess } from "@parley/test-support";
import { returnsOk } from "../processes.ts";

export type Nginx = { url: string; stop(): Promise<void> };

/** Starts nginx in front of an edge, with a cache and nginx's defaults (buffering, HTTP/1.0 upstream). */
export async function startNginx(targetPort: number): Promise<Nginx> {
  const port = await freePort();
  const { stop } = await runNginx(
    port,
    (directory) => `
       proxy_cache_path ${directory}/cache keys_zone=shared:1m;
       server {
         listen 127.0.0.1:${port};
         location / {
           proxy_pass http://127.0.0.1:${targetPort};
           proxy_set_header X-Forwarded-For $http_x_forwarded_for;
           proxy_cache shared;
           add_header X-Cache $upstream_cache_status always;
         }
       }`,
  );
  return { url: `http://127.0.0.1:${port}`, stop };
}

/**
 * Starts nginx with the server blocks that `servers` returns. `servers` gets the path of nginx's temporary directory. One of the blocks
 * must listen on `port`. Waits until GET /healthz/live on that port returns a 2xx status.
 */
export async function runNginx(port: number, servers: (directory: string) => string): Promise<Pick<Nginx, "stop">> {
  const command = nginxCommand();
  if (command === undefined) throw new Error('nginx not found; use describeWith("nginx")');
  const directory = await mkdtemp(join(tmpdir(), "parley-nginx-"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(" ");
  await writeFile(
    join(directory, "nginx.conf"),
    `${process.getuid?.() === 0 ? "user root;" : ""}
     daemon off; pid ${directory}/pid; error_log stderr warn;
     events {}
     http {
       access_log off; ${temporary}
       ${servers(directory)}
     }`,
  );
  const server = await startProcess({
    name: "nginx",
    command,
    args: ["-e", "stderr", "-p", directory, "-c", join(directory, "nginx.conf")],
    ready: () => returnsOk(`http://127.0.0.1:${port}/healthz/live`),
  });
  await server.waitReady();
  return {
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}
