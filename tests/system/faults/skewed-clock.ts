// Tests preload this file into a service with `node --import`. It shifts the wall clock by CLOCK_SKEW_MS, but not the monotonic clocks. At
// SIGUSR2 the wall clock jumps to a random skew of up to an hour in either direction.
const MAX_JUMP_MS = 3_600_000;
let skewMs = Number(process.env.CLOCK_SKEW_MS ?? 0);
process.on("SIGUSR2", () => {
  skewMs = (Math.random() * 2 - 1) * MAX_JUMP_MS;
});
const RealDate = Date;

class SkewedDate extends RealDate {
  constructor(...args: [] | [number | string | Date]) {
    if (args.length === 0) super(RealDate.now() + skewMs);
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + skewMs;
  }
}

globalThis.Date = SkewedDate as DateConstructor;
