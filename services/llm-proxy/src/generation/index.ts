export type { GenerationRunner } from "./generation-runner.ts";
