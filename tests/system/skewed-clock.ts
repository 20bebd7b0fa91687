// Tests preload this file into a service with `node --import`. It shifts the wall clock by CLOCK_SKEW_MS, but not the monotonic clocks.
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
