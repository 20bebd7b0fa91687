import { readFile } from "node:fs/promises";

export type ProcessEntry = { pid: number; parentPid: number; command: string };

export type ReadProcess = (pid: number) => Promise<ProcessEntry | undefined>;

const CHECK_INTERVAL_MS = 500;
/** pnpm as an executable or as a script run by Node. */
const PNPM = /^(\S*node )?(\S*\/)?pnpm(\.[cm]?js)?( |$)/;

/**
 * Calls `onGone` when a process that launched this one exits (see findLaunchers). `npx` exits on a signal without forwarding it, which
 * would leave Parley running and its ports in use. Needs /proc.
 */
export async function watchLaunchers(onGone: () => void): Promise<void> {
  const launchers = await findLaunchers(process.pid, readProcess);
  const timer = setInterval(() => {
    void areAllRunning(launchers, readProcess).then((all) => {
      if (all) return;
      clearInterval(timer);
      onGone();
    });
  }, CHECK_INTERVAL_MS);
  timer.unref();
}

/**
 * Returns a process and its ancestors up to the package manager: the script's shell and pnpm. If npx started pnpm, also returns npx
 * and the shell between npx and pnpm. Returns nothing if pnpm did not start the process.
 */
export async function findLaunchers(pid: number, read: ReadProcess): Promise<ProcessEntry[]> {
  const chain: ProcessEntry[] = [];
  for (let entry = await read(pid); entry && chain.length < 5; entry = await read(entry.parentPid)) chain.push(entry);
  const [self, shell, manager, npxShell, npx] = chain;
  if (!self || !shell || !manager || !PNPM.test(manager.command)) return [];
  const isRunByNpx = npxShell && npx && /^(npm exec|npx)\b/.test(npx.command);
  return isRunByNpx ? [self, shell, manager, npxShell, npx] : [self, shell, manager];
}

/** Returns whether every launcher is still running and still the parent of the launcher before it in the list. */
export async function areAllRunning(launchers: readonly ProcessEntry[], read: ReadProcess): Promise<boolean> {
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
    // The format is: pid (name) state parent …. The name may contain spaces and parentheses.
    const parentPid = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    return { pid, parentPid, command: command.replaceAll("\0", " ").trim() };
  } catch {
    // The process has exited, or there is no /proc.
    return undefined;
  }
}
