export type Upload = {
  id: number;
  name: string;
  /** From 0 to 1. */
  sentShare: number;
  /**
   * `waiting` and `sending` become `added` or `failed`. If the page is closed before, they become `lost` (not sent) and `interrupted` (sent in part,
   * or the response did not arrive).
   */
  state: "waiting" | "sending" | "added" | "failed" | "lost" | "interrupted";
  /** Why the document was not added. */
  problem?: string;
};

/** The bot that gets the documents, as "<workspace>/<slug>". */
export type UploadTarget = string;

export type UploadStoreDeps = {
  /** Uploads a file. Returns the problem, or undefined if its document was added. */
  send: (target: UploadTarget, file: File, onProgress: (share: number) => void) => Promise<string | undefined>;
  /** Called after each upload. */
  onEnd: (target: UploadTarget) => void;
  /** Survives a reload of the page. */
  storage: Pick<Storage, "getItem" | "setItem">;
};

const STORAGE_KEY = "parley-uploads";
/** The console and the conversation service run four calls with a small body of a workspace at once. One is left for the screen. */
const MAX_SMALL_UPLOADS = 3;
/** Each replica of the console and of the conversation service processes one large upload per workspace at a time, and refuses one that waits too long. */
const MAX_LARGE_UPLOADS = 1;
/** The services count a request of more than 256 KiB as large. The file's name and the bot's take less than the difference. */
const SMALL_FILE_BYTES = 250 * 1024;
const PERSIST_INTERVAL_MS = 250;

type StoredUpload = Pick<Upload, "name" | "state" | "problem">;

let nextId = 1;

/** Uploads files in the background, so that the uploads continue on other screens. Keeps their results over a reload of the page. */
export class UploadStore {
  readonly #deps: UploadStoreDeps;
  readonly #uploads = new Map<UploadTarget, readonly Upload[]>();
  /** The files of the uploads that have not succeeded, by upload. */
  readonly #files = new Map<number, File>();
  readonly #listeners = new Set<() => void>();
  readonly #runSmall = createLimiter(MAX_SMALL_UPLOADS);
  readonly #runLarge = createLimiter(MAX_LARGE_UPLOADS);
  #persistTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(deps: UploadStoreDeps) {
    this.#deps = deps;
    // Without a problem, the list of documents shows the result.
    for (const [target, uploads] of Object.entries(readStored(deps.storage)))
      if (uploads.some(({ state }) => state !== "added")) this.#uploads.set(target, uploads.map(restore));
  }

  /** Returns the same list until an upload of the target changes. */
  list(target: UploadTarget): readonly Upload[] {
    return this.#uploads.get(target) ?? NO_UPLOADS;
  }

  /** Calls the listener after each change. Returns a function that removes it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Uploads files, and resolves when all of them have ended. Returns the problems, each with the name of its file. */
  async add(target: UploadTarget, files: readonly File[]): Promise<string[]> {
    const added = files.map((file): Upload => ({ id: nextId++, name: file.name, sentShare: 0, state: "waiting" }));
    for (const [index, file] of files.entries()) this.#files.set(added[index]?.id ?? 0, file);
    this.#set(target, [...this.list(target), ...added]);
    return this.#run(target, added);
  }

  /** Uploads the files again whose upload failed. Resolves as add does. */
  async retryFailed(target: UploadTarget): Promise<string[]> {
    const failed = this.list(target).filter(({ id, state }) => state === "failed" && this.#files.has(id));
    for (const { id, name } of failed) this.#replace(target, { id, name, sentShare: 0, state: "waiting" });
    return this.#run(target, failed);
  }

  /** Whether files of the target would be uploaded by retryFailed. Files from before a reload are gone. */
  canRetry(target: UploadTarget): boolean {
    return this.list(target).some(({ id, state }) => state === "failed" && this.#files.has(id));
  }

  /** Removes all uploads from the list except those that have not ended. */
  clear(target: UploadTarget): void {
    for (const { id, state } of this.list(target)) if (!isPending(state)) this.#files.delete(id);
    this.#set(
      target,
      this.list(target).filter(({ state }) => isPending(state)),
    );
  }

  hasPending(): boolean {
    return [...this.#uploads.values()].some((uploads) => uploads.some(({ state }) => isPending(state)));
  }

  /** Stores the states of all uploads. */
  persist(): void {
    clearTimeout(this.#persistTimer);
    this.#persistTimer = undefined;
    const entries = [...this.#uploads].filter(([, uploads]) => uploads.length > 0);
    const stored = entries.map(([target, uploads]) => [
      target,
      uploads.map(({ name, state, problem }): StoredUpload => ({ name, state, ...(problem && { problem }) })),
    ]);
    try {
      this.#deps.storage.setItem(STORAGE_KEY, JSON.stringify(Object.fromEntries(stored)));
    } catch {
      // The storage is full or forbidden. Only the list after a reload is lost.
    }
  }

  async #run(target: UploadTarget, uploads: readonly Upload[]): Promise<string[]> {
    const problems: string[] = [];
    const run = async ({ id, name }: Upload) => {
      const file = this.#files.get(id);
      if (file === undefined) return;
      const limiter = file.size <= SMALL_FILE_BYTES ? this.#runSmall : this.#runLarge;
      const problem = await limiter(() => {
        this.#replace(target, { id, name, sentShare: 0, state: "sending" });
        const onProgress = (sentShare: number) => this.#replace(target, { id, name, sentShare, state: "sending" });
        return this.#deps.send(target, file, onProgress);
      });
      if (problem === undefined) {
        this.#files.delete(id);
        this.#replace(target, { id, name, sentShare: 1, state: "added" });
      } else {
        problems.push(`${name}: ${problem}`);
        this.#replace(target, { id, name, sentShare: 1, state: "failed", problem });
      }
      this.#deps.onEnd(target);
    };
    await Promise.all(uploads.map(run));
    return problems;
  }

  #replace(target: UploadTarget, changed: Upload): void {
    this.#set(
      target,
      this.list(target).map((each) => (each.id === changed.id ? changed : each)),
    );
  }

  #set(target: UploadTarget, uploads: readonly Upload[]): void {
    this.#uploads.set(target, uploads);
    this.#persistTimer ??= setTimeout(() => this.persist(), PERSIST_INTERVAL_MS);
    for (const listener of this.#listeners) listener();
  }
}

const NO_UPLOADS: readonly Upload[] = [];

export function isPending(state: Upload["state"]): boolean {
  return state === "waiting" || state === "sending";
}

/** Returns a function that runs tasks, at most `max` at once, in the order of the calls. */
function createLimiter(max: number): <Result>(task: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await task();
    } finally {
      // Passes the place to the next task.
      const startNext = waiting.shift();
      if (startNext) startNext();
      else running--;
    }
  };
}

function readStored(storage: UploadStoreDeps["storage"]): Record<UploadTarget, StoredUpload[]> {
  try {
    return (JSON.parse(storage.getItem(STORAGE_KEY) ?? "{}") as Record<UploadTarget, StoredUpload[]> | null) ?? {};
  } catch {
    return {};
  }
}

/** The browser has forgotten the files that were not sent. */
function restore({ state, ...upload }: StoredUpload): Upload {
  const restored = state === "waiting" ? "lost" : state === "sending" ? "interrupted" : state;
  return { ...upload, id: nextId++, sentShare: 0, state: restored };
}
