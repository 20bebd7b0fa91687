import { readFile } from "node:fs/promises";

export type ProcessEntry = { pid: number; parentPid: number; command: string };

export type ReadProcess = (pid: number) => Promise<ProcessEntry | undefined>;

const CHECK_INTERVAL_MS = 500;
/** pnpm as an executable or as a script run by Node. */
const PNPM = /^(\S*node )?(\S*\/)?pnpm(\.[cm]?js)?( |$)/;

/**
 * Calls `onGone` when a process that launched this one exits (see findLaunchChain). If `npx` gets a signal, it exits without forwarding the
 * signal. Without this check, Parley would keep running and occupy its ports. Needs /proc.
 */
export async function watchLaunchers(onGone: () => void): Promise<void> {
  const chain = await findLaunchChain(process.pid, readProcess);
  const timer = setInterval(() => {
    void areAllRunning(chain, readProcess).then((all) => {
      if (all) return;
      clearInterval(timer);
      onGone();
    });
  }, CHECK_INTERVAL_MS);
  timer.unref();
}

/**
 * Returns the launch chain of a process: the process, the shell in which pnpm runs the script, and pnpm. If npx started pnpm, the chain
 * continues with the shell between npx and pnpm, and with npx. Returns an empty chain if pnpm did not start the process.
 */
export async function findLaunchChain(pid: number, read: ReadProcess): Promise<ProcessEntry[]> {
  const entries: ProcessEntry[] = [];
  for (let entry = await read(pid); entry && entries.length < 5; entry = await read(entry.parentPid))
    entries.push(entry);
  const [self, shell, pnpm, npxShell, npx] = entries;
  if (!self || !shell || !pnpm || !PNPM.test(pnpm.command)) return [];
  const isRunByNpx = npxShell && npx && /^(npm exec|npx)\b/.test(npx.command);
  return isRunByNpx ? [self, shell, pnpm, npxShell, npx] : [self, shell, pnpm];
}

/** Returns whether every process of a launch chain is still running and still the parent of the process before it. */
export async function areAllRunning(chain: readonly ProcessEntry[], read: ReadProcess): Promise<boolean> {
  const now = await Promise.all(chain.map(({ pid }) => read(pid)));
  return now.every((entry, index) => {
    const parent = chain[index + 1];
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
