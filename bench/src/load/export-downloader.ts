// Downloads the export at EXPORT_URL with the token EXPORT_TOKEN, and discards the content. Repeats the download until a download fails.
// Prints "exporting" at the first byte of each download.
import { get } from "node:http";

const { EXPORT_URL = "", EXPORT_TOKEN = "" } = process.env;
const headers = { authorization: `Bearer ${EXPORT_TOKEN}`, "accept-encoding": "identity" };

function download(): void {
  get(EXPORT_URL, { headers }, (response) => {
    if (response.statusCode !== 200) throw new Error(`the export returned status ${response.statusCode}`);
    response.once("data", () => console.log("exporting"));
    response.once("aborted", () => process.exit(1));
    response.once("end", download);
  });
}

download();
