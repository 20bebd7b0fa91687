import { describe, expect, test } from "vitest";
import { FAULTS, readToken, respond, startProvider, tryToSignIn } from "../testing/sign-in.ts";

describe.concurrent("a sign-in", () => {
  test("whose code the identity provider does not know asks the person to start again", async (context) => {
    const issuer = await startProvider(context, (_, response) => respond(response, 400, { error: "invalid_grant" }));
    expect(await tryToSignIn(issuer)).toEqual({
      result: "the identity provider no longer accepts the code: run parley login again",
      notices: [],
    });
  });
});

describe.concurrent("an access token that expires soon", () => {
  test.for(Object.entries(FAULTS))(
    "is used until it expires if the refresh fails with %s",
    async ([, fault], context) => {
      const issuer = await startProvider(context, fault);
      const tokens = Promise.all([readToken(context, issuer, 60), readToken(context, issuer, 0)]);
      expect(await tokens).toEqual(["stored", expect.stringContaining(issuer)]);
    },
  );

  test("is not used if the identity provider refuses the refresh", async (context) => {
    const issuer = await startProvider(context, (_, response) => respond(response, 400, { error: "invalid_grant" }));
    expect(await readToken(context, issuer, 60)).toBe("your login has ended: sign in again with parley login");
  });
});
