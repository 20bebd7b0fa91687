export type { Generator } from "./generator.ts";
