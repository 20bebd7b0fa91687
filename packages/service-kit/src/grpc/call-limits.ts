/** Limits a generation with all its attempts, even if a provider's total timeout is longer. */
export const MAX_GENERATION_MS = 360_000;

/** The edge's deadline for Generate. Longer than MAX_GENERATION_MS, so that the llm-proxy ends the generation first and reports its status. */
export const GENERATE_TIMEOUT_MS = MAX_GENERATION_MS + 10_000;

/** The deadline of an export, the longest call between services. */
export const EXPORT_TIMEOUT_MS = 600_000;

/** How long a connection may stay open after its maximum age, so that running calls can end. */
export const CONNECTION_GRACE_MS = EXPORT_TIMEOUT_MS + 30_000;
