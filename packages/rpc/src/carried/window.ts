/**
 * How much of a call's responses may be on their way, or wait to be taken, before the server waits: what a slow reader does not take stays
 * with whoever makes it.
 */
export const WINDOW_BYTES = 16 * 1024;
