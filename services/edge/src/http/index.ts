export { addressBucket, type CountedBucket, countedBuckets, networkBucket } from "./client-address.ts";
export { badRequest, HttpError, invalidMessage, overloadedError, unavailableError } from "./http-error.ts";
export {
  isBlank,
  isObject,
  type JsonObject,
  MAX_SMALL_BODY_BYTES,
  parseJsonObject,
} from "./json-body.ts";
export type { OnRefusal, Refusal } from "./plugins/errors.plugin.ts";
export { endpoint } from "./plugins/methods.plugin.ts";
export { isApiRoute, REQUEST_ID_HEADER, routeOf } from "./request.ts";
