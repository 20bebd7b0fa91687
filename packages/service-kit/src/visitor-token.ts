// The limits of a visitor token (docs/visitors.md). The edge enforces them, and `parley doctor` explains them.

export const MAX_VISITOR_ID_CHARACTERS = 1_024;
/** A body of 8 KiB has room for such a token. It holds a `sub` of the maximum length, even in 4-byte characters. */
export const MAX_TOKEN_CHARACTERS = 6 * 1024;
export const MAX_LIFETIME_SECONDS = 24 * 60 * 60;
/** By how much the clocks of the edge and of the owner's backend may differ. */
export const CLOCK_SKEW_SECONDS = 30;
