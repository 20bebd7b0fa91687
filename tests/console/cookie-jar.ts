type CookieJars = Map<string, Map<string, string>>;

/**
 * Creates an HTTP client that stores cookies by host and port, in a copy of `initialJars`. The client ignores cookie attributes, and deletes a
 * cookie whose new value is empty.
 */
export function createCookieClient(initialJars: CookieJars = new Map()) {
  const jars: CookieJars = new Map([...initialJars].map(([host, jar]) => [host, new Map(jar)]));
  const received: string[] = [];
  return {
    jars,
    receivedSetCookieHeaders: (): readonly string[] => received,
    async send(url: string, init: RequestInit = {}): Promise<Response> {
      const { host } = new URL(url);
      const jar = jars.get(host) ?? new Map<string, string>();
      jars.set(host, jar);
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
      const headers = new Headers(init.headers);
      headers.set("cookie", cookie);
      const response = await fetch(url, { ...init, headers });
      for (const header of response.headers.getSetCookie()) {
        received.push(header);
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
        if (value === "") jar.delete(name);
        else jar.set(name, value);
      }
      return response;
    },
  };
}
