/** Copies a text. Resolves to false if the browser refuses. Selecting the text in `parent` may take the focus. */
export async function copyText(text: string, parent: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages that are served over plain HTTP have no clipboard, and a frame may lack the permission. There, the browser copies a selection.
    const box = document.createElement("textarea");
    box.value = text;
    parent.append(box);
    box.select();
    const isCopied = document.execCommand("copy");
    box.remove();
    return isCopied;
  }
}
