// Preloaded into a service (node --import), to give it a wall clock that is wrong by CLOCK_SKEW_MS. Monotonic clocks stay as they are.
const skewMs = Number(process.env.CLOCK_SKEW_MS);
const RealDate = Date;

class SkewedDate extends RealDate {
  constructor(...parts: [] | [number | string | Date]) {
    if (parts.length === 0) super(RealDate.now() + skewMs);
    else super(...parts);
  }

  static override now(): number {
    return RealDate.now() + skewMs;
  }
}

globalThis.Date = SkewedDate as DateConstructor;
