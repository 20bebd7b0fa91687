/** Ignores files that are dropped outside a drop zone. Without this, the browser would open them in place of the page. */
export function ignoreDroppedFiles(): void {
  const ignore = (event: DragEvent) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  };
  window.addEventListener("dragover", ignore);
  window.addEventListener("drop", ignore);
}
