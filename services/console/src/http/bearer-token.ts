import type { FastifyRequest } from "fastify";

const BEARER = /^Bearer /i;

/** Browsers add credentials of other schemes, such as Basic, by themselves. */
export const hasBearerToken = ({ headers }: FastifyRequest) => BEARER.test(headers.authorization ?? "");
