import Type from "typebox";
import { PublicKey, SessionId } from "../chat/index.ts";
import { inKiB, MAX_SMALL_BODY_BYTES } from "../http/index.ts";
import { MESSAGES_OF_PASS } from "./require-pass.ts";

/** The body of POST /api/chat/challenge/. */
export const ChallengeRequest = Type.Object(
  {
    public_key: PublicKey,
    session_id: SessionId,
    solution: Type.String({
      minLength: 1,
      description:
        "ALTCHA's payload: the Base64 encoding of the JSON object `{challenge, solution}`, where `challenge` is that of the 403, and `solution` is `{counter, derivedKey}`.",
    }),
  },
  {
    title: "ChallengeRequest",
    description: `The solution of a challenge. At most ${inKiB(MAX_SMALL_BODY_BYTES)}.`,
  },
);

export const IssuedPass = Type.Object(
  {
    challenge_pass: Type.String({ description: "Send it as `challenge_pass` of chat." }),
    expires_at: Type.String({ format: "date-time", description: "24 hours ahead." }),
    messages: Type.Literal(MESSAGES_OF_PASS, { description: "How many messages the pass is valid for." }),
  },
  { title: "IssuedPass" },
);
