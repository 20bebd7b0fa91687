import type { FastifyRequest } from "fastify";

const BEARER = /^Bearer /i;

/** Only a bearer token exempts a request from the same-origin check: browsers add credentials of other schemes, such as Basic, by themselves. */
export const hasBearerToken = ({ headers }: FastifyRequest) => BEARER.test(headers.authorization ?? "");
