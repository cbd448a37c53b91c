// Keeps the lab's own files, so that it works without a network once it has been there.
const CACHE = "clearpipe-lab-VERSION";
const FILES = ["./", "FILES"];

self.addEventListener("install", (event) => {
  const fresh = FILES.map((file) => new Request(file, { cache: "reload" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(fresh)));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  const mine = (name) => name.startsWith("clearpipe-lab-") && name !== CACHE;
  const drop = async () => {
    for (const name of await caches.keys()) if (mine(name)) await caches.delete(name);
    await self.clients.claim();
  };
  event.waitUntil(drop());
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  const answer = async () => {
    const cache = await caches.open(CACHE);
    return (await cache.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
  };
  event.respondWith(answer());
});
