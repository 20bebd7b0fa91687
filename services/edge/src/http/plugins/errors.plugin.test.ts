import { once } from "node:events";
import { get } from "node:http";
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { unavailableError } from "../http-error.ts";
import { errors } from "./errors.plugin.ts";

test("a request whose client leaves during a call to another service counts as client_gone", async () => {
  const refused: string[] = [];
  const app = fastify();
  onTestFinished(() => app.close());
  void app.register(errors, {
    onRefusal: ({ code, route }) => refused.push(`${code} ${route}`),
    countMalformed: async () => undefined,
  });
  app.after(() => {
    app.get("/", async (_, reply) => {
      if (!reply.raw.destroyed) await once(reply.raw, "close");
      throw unavailableError(new Error("cancelled"));
    });
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const request = get({ port: (app.server.address() as AddressInfo).port });
  request.on("error", () => undefined);
  await once(app.server, "request");
  request.destroy();
  await expect.poll(() => refused).toEqual(["client_gone /"]);
});
