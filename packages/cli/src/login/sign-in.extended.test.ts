import type { RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { FAULTS, respond, startProvider, storeLoginAndReadToken, TOKENS, tryToSignIn } from "../testing/sign-in.ts";

/** Faults that the client detects only by its timeout. */
const SLOW_FAULTS: Record<string, RequestListener> = { "no response": () => undefined };

describe.concurrent("a sign-in", () => {
  test.for(Object.entries({ ...FAULTS, ...SLOW_FAULTS }))(
    "continues to poll, at a longer interval, after %s",
    async ([, fault], context) => {
      const polledAt: number[] = [];
      const issuer = await startProvider(context, (request, response) => {
        if (polledAt.push(performance.now()) === 1) fault(request, response);
        else respond(response, 200, TOKENS);
      });
      expect(await tryToSignIn(issuer)).toEqual({
        result: "token",
        notices: [`a request to ${issuer} failed: trying again until the code expires …`],
      });
      const [first = 0, second = 0] = polledAt;
      expect(second - first).toBeGreaterThan(5_000);
    },
  );
});

describe.concurrent("an access token that expires soon", () => {
  test.for(Object.entries(SLOW_FAULTS))(
    "is used until it expires if the refresh fails with %s",
    async ([, fault], context) => {
      const issuer = await startProvider(context, fault);
      // The first token expires in 60 s. The second has expired, so reading it fails with an error that names the issuer.
      const tokens = Promise.all([
        storeLoginAndReadToken(context, issuer, 60),
        storeLoginAndReadToken(context, issuer, 0),
      ]);
      expect(await tokens).toEqual(["stored", expect.stringContaining(issuer)]);
    },
  );
});
