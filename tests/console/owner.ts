import { createCookieClient } from "./cookie-jar.ts";

/** An HTTP client with the cookies of a signed-in member. */
export type SignedInClient = {
  send: (path: string, init?: RequestInit) => Promise<Response>;
  /** Posts JSON. The default `headers` are those that the console's page sends. */
  post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>;
  receivedSetCookieHeaders: () => readonly string[];
  /** Returns a client with a copy of the cookies. */
  copy: () => SignedInClient;
};

/** Signs in through the redirects of the development sign-in. Without `account`, signs in the demo workspace's owner. */
export async function signIn(consoleUrl: string, returnTo = "/", account?: string): Promise<SignedInClient> {
  const client = createCookieClient();
  const { send } = client;
  const target = consoleUrl + returnTo;
  let url = `${consoleUrl}/auth/sign-in?return_to=${encodeURIComponent(returnTo)}`;
  for (let redirects = 0; redirects < 10 && url !== target; redirects++) {
    const response = await send(url, { redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null) break;
    const next = new URL(location, url);
    if (account !== undefined && next.pathname === "/auth") next.searchParams.set("login_hint", account);
    url = next.href;
  }
  if (url !== target) throw new Error(`the sign-in ended at ${url}`);
  return createSignedInClient(consoleUrl, client);
}

function createSignedInClient(consoleUrl: string, client: ReturnType<typeof createCookieClient>): SignedInClient {
  const pageHeaders = { origin: consoleUrl, "x-parley-console": "1", "content-type": "application/json" };
  const send: SignedInClient["send"] = (path, init = {}) => client.send(consoleUrl + path, init);
  return {
    send,
    post: (path, body = {}, headers = pageHeaders) =>
      send(path, { method: "POST", headers, body: JSON.stringify(body) }),
    receivedSetCookieHeaders: client.receivedSetCookieHeaders,
    copy: () => createSignedInClient(consoleUrl, createCookieClient(client.jars)),
  };
}
