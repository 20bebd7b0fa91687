export { serializeConfigBody } from "./config-body.ts";
