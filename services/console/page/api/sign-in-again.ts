// Requests wait here when the session has ended, so that the page keeps what the user typed: the dialog SignInAgain lets the user sign in
// in another window, and then the requests are repeated.

type Waiting = { promise: Promise<boolean>; resolve: (isSignedIn: boolean) => void };

let waiting: Waiting | undefined;
let isDialogMounted = false;
const listeners = new Set<() => void>();

/** Resolves with true once the user has signed in again. Resolves with false if the page cannot ask the user to. */
export function waitForSignIn(): Promise<boolean> {
  if (!isDialogMounted) return Promise.resolve(false);
  if (waiting === undefined) {
    const { promise, resolve } = createPromise();
    waiting = { promise, resolve };
    notify();
  }
  return waiting.promise;
}

/** Opens a window to sign in again. The window closes itself at the end. */
export function openSignIn(): void {
  window.open("/auth/sign-in?return_to=/signed-in", "_blank");
}

/** Repeats the requests that wait. */
export function continueRequests(): void {
  waiting?.resolve(true);
  waiting = undefined;
  notify();
}

/** Whether requests wait. */
export function isWaiting(): boolean {
  return waiting !== undefined;
}

/** Must be called by the dialog. Returns a function that removes the listener and the dialog. */
export function mountDialog(listener: () => void): () => void {
  listeners.add(listener);
  isDialogMounted = true;
  return () => {
    listeners.delete(listener);
    isDialogMounted = listeners.size > 0;
  };
}

function notify(): void {
  for (const listener of listeners) listener();
}

// Promise.withResolvers is missing in browsers that the console supports.
function createPromise(): Waiting {
  let resolve: Waiting["resolve"] = () => undefined;
  const promise = new Promise<boolean>((resolvePromise) => {
    resolve = resolvePromise;
  });
  return { promise, resolve };
}
