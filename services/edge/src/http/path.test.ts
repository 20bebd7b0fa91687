import fastify from "fastify";
import { expect, test } from "vitest";
import { ensureDecodable } from "./path.ts";

const app = fastify({ rewriteUrl: ({ url = "" }) => ensureDecodable(url) });
app.get("/:id/", async ({ params, query }) => ({ params, query }));

test.each([
  ["/caf%C3%A9/?a=caf%C3%A9&b=100%25", { id: "café" }, { a: "café", b: "100%" }],
  ["/caf%C3%A9/?a=caf%C3%A9&b=100%", { id: "café" }, { a: "café", b: "100%" }],
  ["/caf%E9/?a=caf%C3%A9&b=%E9", { id: "caf%E9" }, { a: "café", b: "%E9" }],
  ["/100%/", { id: "100%" }, {}],
])(
  "decodes the path and each query value of %s, except malformed ones, which stay unchanged",
  async (url, params, query) => {
    expect((await app.inject(url)).json()).toEqual({ params, query });
  },
);
