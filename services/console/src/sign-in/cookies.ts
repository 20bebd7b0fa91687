import { hkdfSync } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { CompactEncrypt, compactDecrypt } from "jose";
import { MAX_SESSION_MS, type Session } from "./session.ts";

/** The state of a sign-in between the redirect to the identity provider and the callback. */
export type PendingSignIn = { state: string; nonce: string; codeVerifier: string; returnTo: string };

export type SessionCookies = {
  readSession(request: FastifyRequest): Promise<Session | undefined>;
  /** Returns false, and stores nothing, if the session does not fit into the cookies. */
  writeSession(reply: FastifyReply, session: Session): Promise<boolean>;
  clearSession(reply: FastifyReply): void;
  readPending(request: FastifyRequest, state: string): Promise<(PendingSignIn & { isExpired: boolean }) | undefined>;
  /** Stores a pending sign-in. If the browser already has MAX_PENDING of them, deletes those first. */
  writePending(request: FastifyRequest, reply: FastifyReply, pending: PendingSignIn): Promise<void>;
  clearPending(reply: FastifyReply, pending: PendingSignIn): void;
};

// Browsers accept __Host- cookies only with Secure, with Path=/ and without Domain, so no other host can set them.
const SESSION = "__Host-parley-session";
const PENDING = "__Host-parley-sign-in";
const ATTRIBUTES = { path: "/", secure: true, httpOnly: true, sameSite: "lax" } as const;
const MAX_CHUNKS = 3;
/** Browsers may reject a cookie of more than 4,096 bytes, including its name and attributes. */
const CHUNK_LENGTH = 3_800;
const PENDING_SECONDS = 10 * 60;
/** Longer than PENDING_SECONDS, so that a user whose sign-in has expired still returns to the right screen. */
const PENDING_COOKIE_SECONDS = 60 * 60;
/** Limits the length of the Cookie header. */
const MAX_PENDING = 3;
const KEY_BYTES = 32;

type CookieName = typeof SESSION | typeof PENDING;

/**
 * Encrypts cookies with the first of the current `secrets`, and tries all secrets to decrypt a cookie. The read
 * functions return undefined for a cookie that cannot be decrypted, and for a session older than MAX_SESSION_MS.
 */
export function createSessionCookies(secrets: () => readonly string[], nowMs: () => number): SessionCookies {
  const seal = (name: CookieName, value: object) =>
    new CompactEncrypt(Buffer.from(JSON.stringify(value)))
      .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
      .encrypt(deriveKey(name, secrets()[0] ?? ""));
  const open = async <T>(name: CookieName, sealed: string | undefined): Promise<T | undefined> => {
    if (!sealed) return undefined;
    for (const secret of secrets()) {
      try {
        const { plaintext } = await compactDecrypt(sealed, deriveKey(name, secret));
        return JSON.parse(Buffer.from(plaintext).toString()) as T;
      } catch {
        // Encrypted with another secret, or modified.
      }
    }
    return undefined;
  };
  /** Each sign-in has its own cookie, so that several tabs can sign in at the same time. */
  const pendingName = (state: string) => `${PENDING}.${state}`;
  const chunkName = (index: number) => `${SESSION}.${index}`;
  const writeChunks = (reply: FastifyReply, sealed: string, maxAge: number) => {
    for (let index = 0; index < MAX_CHUNKS; index++) {
      const chunk = sealed.slice(index * CHUNK_LENGTH, (index + 1) * CHUNK_LENGTH);
      if (chunk === "") reply.clearCookie(chunkName(index), ATTRIBUTES);
      else reply.setCookie(chunkName(index), chunk, { ...ATTRIBUTES, maxAge });
    }
  };
  return {
    async readSession({ cookies }) {
      const chunks = Array.from({ length: MAX_CHUNKS }, (_, index) => cookies[chunkName(index)] ?? "");
      const session = await open<Session>(SESSION, chunks.join(""));
      return session === undefined || session.startedAtMs + MAX_SESSION_MS <= nowMs() ? undefined : session;
    },
    async writeSession(reply, session) {
      const sealed = await seal(SESSION, session);
      if (sealed.length > MAX_CHUNKS * CHUNK_LENGTH) return false;
      const remainingMs = session.startedAtMs + MAX_SESSION_MS - nowMs();
      writeChunks(reply, sealed, Math.max(0, Math.floor(remainingMs / 1_000)));
      return true;
    },
    clearSession: (reply) => writeChunks(reply, "", 0),
    async readPending({ cookies }, state) {
      const pending = await open<PendingSignIn & { startedAtMs: number }>(PENDING, cookies[pendingName(state)]);
      return pending && { ...pending, isExpired: pending.startedAtMs + PENDING_SECONDS * 1_000 <= nowMs() };
    },
    async writePending({ cookies }, reply, pending) {
      const others = Object.keys(cookies).filter((name) => name.startsWith(PENDING));
      if (others.length >= MAX_PENDING) for (const name of others) reply.clearCookie(name, ATTRIBUTES);
      const sealed = await seal(PENDING, { ...pending, startedAtMs: nowMs() });
      reply.setCookie(pendingName(pending.state), sealed, { ...ATTRIBUTES, maxAge: PENDING_COOKIE_SECONDS });
    },
    clearPending: (reply, { state }) => void reply.clearCookie(pendingName(state), ATTRIBUTES),
  };
}

/** Each kind of cookie has its own key, so that a pending sign-in is not accepted as a session. */
function deriveKey(name: CookieName, secret: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", `parley console ${name}`, KEY_BYTES));
}
