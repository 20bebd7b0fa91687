import { readFile } from "node:fs/promises";

/** A process as the system lists it. */
export type ProcessEntry = { pid: number; parentPid: number; command: string };

export type ReadProcess = (pid: number) => Promise<ProcessEntry | undefined>;

const CHECK_EVERY_MS = 500;
/** pnpm as a program of its own, or as a script of Node's. */
const PNPM = /^(\S*node )?(\S*\/)?pnpm(\.[cm]?js)?( |$)/;

/**
 * Calls `onGone` once the package manager that runs us is gone. Told to end, `npx` does not pass it on: it and its shell
 * vanish, and what they started would stay behind, with all its ports. Only where the system has /proc.
 */
export async function watchLaunchers(onGone: () => void): Promise<void> {
  const launchers = await findLaunchers(process.pid, readProcess);
  const timer = setInterval(() => {
    void areThere(launchers, readProcess).then((all) => {
      if (all) return;
      clearInterval(timer);
      onGone();
    });
  }, CHECK_EVERY_MS);
  timer.unref();
}

/**
 * This process and those above it that belong to the package manager, from the inside out: the script's shell, pnpm, and
 * npx with its shell if that started it. Whoever is above those may come and go.
 */
export async function findLaunchers(pid: number, read: ReadProcess): Promise<ProcessEntry[]> {
  const chain: ProcessEntry[] = [];
  for (let entry = await read(pid); entry && chain.length < 5; entry = await read(entry.parentPid)) chain.push(entry);
  const [own, shell, manager, npxShell, npx] = chain;
  if (!own || !shell || !manager || !PNPM.test(manager.command)) return [];
  const isByNpx = npxShell && npx && /^(npm exec|npx)\b/.test(npx.command);
  return isByNpx ? [own, shell, manager, npxShell, npx] : [own, shell, manager];
}

/** Whether each of them is still there, and still the parent of the one before. */
export async function areThere(launchers: readonly ProcessEntry[], read: ReadProcess): Promise<boolean> {
  const now = await Promise.all(launchers.map(({ pid }) => read(pid)));
  return now.every((entry, index) => {
    const parent = launchers[index + 1];
    return entry !== undefined && (parent === undefined || entry.parentPid === parent.pid);
  });
}

async function readProcess(pid: number): Promise<ProcessEntry | undefined> {
  try {
    const [stat, command] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile(`/proc/${pid}/cmdline`, "utf8"),
    ]);
    // pid (name) state parent …; the name may hold blanks and brackets.
    const parentPid = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    return { pid, parentPid, command: command.replaceAll("\0", " ").trim() };
  } catch {
    // It has ended, or there is no /proc.
    return undefined;
  }
}
