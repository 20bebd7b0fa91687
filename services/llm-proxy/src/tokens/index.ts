export { estimateTokens } from "./estimate-tokens.ts";
