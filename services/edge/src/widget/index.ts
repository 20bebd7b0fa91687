export { configBody } from "./config-body.ts";
