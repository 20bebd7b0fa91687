import Type from "typebox";
import { PublicKey } from "../chat/index.ts";
import { inKiB, MAX_SMALL_BODY_BYTES } from "../http/index.ts";
import { TOKEN_FAULTS, VisitorToken } from "../visitors/index.ts";

/** Must be shorter than IDLE_CONNECTION_TIMEOUT_MS of app.ts, because the server sends nothing during the silence. */
export const MAX_SILENCE_MS = 30_000;
export const EVENT_COUNT = 20;
export const INTERVAL_MS = 100;

const silence = { minimum: 0, maximum: MAX_SILENCE_MS };

/** The body of POST /api/doctor/. */
export const DoctorRequest = Type.Object(
  {
    public_key: PublicKey,
    silence_ms: Type.Optional(
      Type.Integer({
        ...silence,
        default: 0,
        description: "Milliseconds without any data before the `done` event.",
      }),
    ),
    visitor_token: VisitorToken,
  },
  {
    title: "DoctorRequest",
    description: `The key, how long the stream is silent before its last event, and a token to check. At most ${inKiB(MAX_SMALL_BODY_BYTES)}.`,
  },
);

const METADATA = Type.Object(
  {
    client: Type.Object({
      address: Type.String({ description: "The client address as the service sees it." }),
      counted_as: Type.String({ description: "The rate-limit bucket of the address; for IPv6 its /64." }),
      from: Type.Enum(["connection", "x-forwarded-for"], {
        description: "Where the address comes from: the connection, or the header of a trusted proxy.",
      }),
    }),
    http_version: Type.String({
      pattern: "^1\\.[01]$",
      description: "The HTTP version of the connection to the service itself.",
    }),
    forwarded_headers: Type.Array(Type.String(), {
      description: "Names of the proxy headers in the request, in lower case.",
    }),
    server_time: Type.String({ format: "date-time" }),
    events: Type.Literal(EVENT_COUNT),
    interval_ms: Type.Literal(INTERVAL_MS),
    silence_ms: Type.Integer(silence),
    visitor_token: Type.Optional(
      Type.Enum(["accepted", ...TOKEN_FAULTS], {
        description:
          "Only if the request has a `visitor_token`: `accepted`, or why chat would refuse it with `invalid_visitor_token`, as in `parley refusals`.",
      }),
    ),
  },
  { title: "DoctorMetaEvent" },
);

/** The events of the stream by name. */
export const DOCTOR_EVENTS = {
  meta: METADATA,
  tick: Type.Object(
    {
      number: Type.Integer({ minimum: 1, maximum: EVENT_COUNT }),
      sent_ms: Type.Integer({ minimum: 0, description: "Milliseconds from `meta` until this event was sent." }),
    },
    { title: "DoctorTickEvent" },
  ),
  done: Type.Object(
    {
      finish_reason: Type.Enum(["stop", "error"], { description: "`error` if the service is stopping." }),
      sent_ms: Type.Integer({ minimum: 0 }),
    },
    { title: "DoctorDoneEvent" },
  ),
};
