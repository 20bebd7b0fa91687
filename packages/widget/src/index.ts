export { type Asset, loadAssets, type Manifest, type ManifestFile, matchesEtag, pickEncoding } from "./assets.ts";
