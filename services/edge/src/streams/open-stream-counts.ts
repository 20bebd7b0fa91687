import { type CountedBucket, countedBuckets } from "../http/index.ts";

export type StreamLimits = {
  /** Maximum number of streams open in this process. */
  maxOpen: number;
  /**
   * Maximum number of streams open for one client: a visitor's address or a signed-in user. Its larger IPv6 networks may have a multiple, but at
   * most half of `maxOpen`.
   */
  maxOpenPerClient: number;
};

/** Counts the open streams of this process: all of them, and those of each client and of its IPv6 networks. */
export class OpenStreamCounts {
  readonly #limits: StreamLimits;
  readonly #countByBucket = new Map<string, number>();
  #total = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** Returns the limit that another stream of the client would exceed. */
  findFullLimit(clientBucket: string): "process" | "client" | undefined {
    if (this.#total >= this.#limits.maxOpen) return "process";
    const isFull = countedBuckets(clientBucket).some(
      (counted) => this.#count(counted.bucket) >= this.#limitOf(counted),
    );
    return isFull ? "client" : undefined;
  }

  add(clientBucket: string): void {
    this.#total++;
    for (const { bucket } of countedBuckets(clientBucket)) this.#countByBucket.set(bucket, this.#count(bucket) + 1);
  }

  remove(clientBucket: string): void {
    this.#total--;
    for (const { bucket } of countedBuckets(clientBucket)) {
      const count = this.#count(bucket) - 1;
      if (count === 0) this.#countByBucket.delete(bucket);
      else this.#countByBucket.set(bucket, count);
    }
  }

  #limitOf({ factor }: CountedBucket): number {
    const { maxOpen, maxOpenPerClient } = this.#limits;
    return Math.max(maxOpenPerClient, Math.min(maxOpenPerClient * factor, Math.floor(maxOpen / 2)));
  }

  #count(bucket: string): number {
    return this.#countByBucket.get(bucket) ?? 0;
  }
}
