/** Reads the pages of a list call, one at a time, until the last one. */
export async function* readPages<P extends { nextPageToken: string }>(
  readPage: (pageToken: string) => Promise<P>,
): AsyncGenerator<P> {
  let pageToken = "";
  do {
    const page = await readPage(pageToken);
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}
