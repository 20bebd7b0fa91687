export { addressBucket, type CountedBucket, countedBuckets, networkBucket } from "./client-address.ts";
export { badRequest, HttpError, overloadedError, unavailableError } from "./http-error.ts";
export { isVisitorMetadata, MAX_LEVELS, MAX_SMALL_BODY_BYTES, MAX_STRUCTURE_BYTES } from "./json-body.ts";
export type { OnRefusal, Refusal } from "./plugins/errors.plugin.ts";
export { type Endpoint, endpoint, type Operation, type TypedRequest } from "./plugins/methods.plugin.ts";
export { isApiRoute, REQUEST_ID_HEADER, routeOf } from "./request.ts";
export {
  eventStream,
  FORBIDDEN,
  INVALID_PARAMETER,
  inKiB,
  json,
  NO_STORE,
  OPERATOR_REFUSALS,
  refused,
  WIDGET_REFUSALS,
} from "./responses.ts";
export { parseTime } from "./time.ts";
export { invalidParameter, type RequestSchema, VALIDATION } from "./validation.ts";
