# Installs the npm packages of scripts/clients/node/package-lock.json into .cache/clients/node, if that folder has no
# packages or those of another lock file. Source this file from the root of the repository. It sets the variable node to the
# folder of the packages.
node=$PWD/.cache/clients/node
mkdir -p "$node"
if ! cmp -s scripts/clients/node/package-lock.json "$node/installed.json"; then
	cp scripts/clients/node/package.json scripts/clients/node/package-lock.json "$node"
	(cd "$node" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
	cp scripts/clients/node/package-lock.json "$node/installed.json"
fi
