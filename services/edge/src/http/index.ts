export { addressBucket } from "./client-address.ts";
export { HttpError, unavailable } from "./http-error.ts";
export { invalidMessage, isObject, type JsonObject, parseJsonObject } from "./json-body.ts";
export { endpoint } from "./methods.plugin.ts";
