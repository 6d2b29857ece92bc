package lakesmith;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.MetadataTableType;
import org.apache.iceberg.MetadataTableUtils;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;

/** A catalog of tables that are changed in memory, until what they came to is committed elsewhere. */
public final class Drafts implements Catalog {
    /** The tables by namespace and name, joined by a line break. */
    public static final Map<String, Table> TABLES = new ConcurrentHashMap<>();

    @Override
    public String name() {
        return "drafts";
    }

    @Override
    public Table loadTable(TableIdentifier identifier) {
        String namespace = String.join("\n", identifier.namespace().levels());
        Table found = TABLES.get(namespace + "\n" + identifier.name());
        return found == null ? metadataTable(identifier, namespace) : found;
    }

    /** A table of a draft's files, snapshots or manifests: its namespace ends with the name of the draft. */
    private Table metadataTable(TableIdentifier identifier, String draft) {
        MetadataTableType type = MetadataTableType.from(identifier.name());
        if (type == null || !(TABLES.get(draft) instanceof HasTableOperations found)) {
            throw new NoSuchTableException("There is no draft of %s", identifier);
        }
        TableIdentifier base = TableIdentifier.of(identifier.namespace().levels());
        return MetadataTableUtils.createMetadataTableInstance(
                found.operations(), name(), base, identifier, type);
    }

    @Override
    public List<TableIdentifier> listTables(Namespace namespace) {
        return List.of();
    }

    @Override
    public boolean dropTable(TableIdentifier identifier, boolean purge) {
        throw new UnsupportedOperationException("A draft ends with its batch");
    }

    @Override
    public void renameTable(TableIdentifier from, TableIdentifier to) {
        throw new UnsupportedOperationException("A draft keeps its table's name");
    }
}
