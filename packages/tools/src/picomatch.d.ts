/** The part of picomatch that `search-worker.js` uses; the package ships no types. */
declare module 'picomatch' {
  export default function picomatch(
    glob: string,
    options?: { dot?: boolean; basename?: boolean },
  ): (path: string) => boolean
}
